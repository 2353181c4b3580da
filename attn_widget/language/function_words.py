"""Words that stand in nearly every English text, by the place that they have in a sentence.

Openings (`attn_widget.analysis.opening`) and the sentences of the page read them: neither waits for a tagger. `make catalog` writes them to
js/src/catalog/function-words.ts. Pieces of contractions count (*don ' t*).
"""

from __future__ import annotations

import re


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


PRONOUNS = _set(
    "i you he she it we they me him her us them my your his its our their mine yours hers ours theirs "
    "myself yourself himself herself itself ourselves yourselves themselves"
)
FUNCTION_WORDS = (
    PRONOUNS
    | _set(
        "a an the this that these those some any each every all both either neither such same other others another "
        "and or but nor so yet if then than as although though albeit unless until till while whilst whereas because since whether lest "
        "of in on at by for with from to into onto over under about after before between through throughout during against among amongst amid amidst "
        "within without inside outside across behind beyond beside besides along alongside around above below beneath underneath near off up down out "
        "upon toward towards via per past despite except unlike versus aboard atop aside apart away "
        "who whom whose which what when where why how whoever whomever whatever whichever whenever wherever however "
        "therefore thus hence otherwise instead nevertheless nonetheless moreover meanwhile indeed else perhaps maybe "
        "am is are was were be been being do does did doing done has have had having "
        "will would shall should can could may might must ought cannot not no "
        "very too also only just even still again ever never always often sometimes already soon once almost enough hardly "
        "there here now anywhere somewhere everywhere nowhere somehow anyway "
        "more most much many several few fewer less least own quite rather "
        "nobody somebody anybody everybody someone anyone everyone none one half nothing something anything everything "  # words: ok
        "oneself whoever whomever thou thee thy thine "
        "n't 's 're 've 'll 'd 'm s t re ve ll d m don doesn didn isn aren wasn weren hasn haven hadn wouldn shouldn couldn mustn needn mightn shan ain"
    )
)
# Stand for a word before them.
REFERRING = _set(
    "he she it they him her them his hers its their theirs himself herself itself themselves who whom whose which"
)
# Function words of other languages, with the next ones, in a text that has more of these; words of up to three letters are taken for such there anyway.
ELSEWHERE = _set(
    # German
    "der das dem des ein eine einen einem einer eines und oder aber nicht ich du er sie es wir ihr mich mir dich ihn "
    "ihm ihnen uns euch mein meine meinem meinen meiner dein deine deinem deinen deiner sein seine seinem seinen seiner "
    "ihre ihrem ihren ihrer unser unsere dieser diese dieses diesem diesen "
    "jeder jede jedes jedem jeden alle aller alles jemand etwas nichts kein keine keinem keinen "
    "welche welcher welches einige einigen viele vielen sich selbst ist sind waren bist haben hatte "
    "habe hast wird werden wurde wurden kann können konnte muss müssen musste soll sollen sollte wollen wollte "
    "möchte auch nur noch schon sehr mehr als wie wenn weil dass daß ob zu zum zur im am vom beim mit auf aus bei "
    "nach von vor für über unter durch gegen ohne um an in seit hinter neben zwischen wegen hier da dort was wer wem "
    "wen wo warum wann während damit denn sondern so doch dann jetzt immer nie wieder oft kaum also "
    "obwohl bevor nachdem "
    # French
    "le la les un une des du de et ou mais que qui ne pas je tu il elle nous vous ils elles on me te se lui leur leurs eux "
    "ta sa mes tes ses notre votre vos ce cet cette ces cela quel quelle quelque quelques "
    "chaque plusieurs toute tous toutes rien personne aucun aucune sont était être été suis es "
    "a ont avait avoir peut doit fait dans sur sous avec moins très trop en au aux y "
    "devant derrière depuis selon chez vers entre avant après contre jusque jusqu parmi dès quand comme si dont où "
    "donc puis parce ainsi aussi alors ici là jamais toujours déjà souvent maintenant "
    # Spanish
    "el las una unos unas del o pero no tú él nosotros ellos le su sus mi tus nuestro "
    "nuestra es fue está están estaba estar había por para "
    "sobre entre hacia hasta desde según durante bajo más menos muy mucho mucha muchos muchas poco todo toda todos "
    "todas otro otra otros otras algo alguien nada nadie alguno alguna como cuando donde cual "
    "quien qué quién cómo cuándo dónde porque aunque mientras pues este esta esto estos estas ese esa eso "
    "aquí allí ahora siempre nunca también ya aún todavía "
    # Italian
    "il gli dei degli delle della dell nel nella nelle nello dalla dalle dai sul sulla sulle sui alle "
    "che cui sono sei erano essere hanno per tra su anche perché "
    "quando quanto quale questo questa questi queste quello quella quelli quelle mio suo sua suoi loro nostro nostra "
    "noi voi lui ogni qualche qualcosa nessuno tutto tutta tutti tutte molto molti più già ancora sempre "
    "qui dopo senza dietro davanti mentre però quindi "
    # Portuguese
    "os um uma uns da das na nas ao aos à às pelo pela não eu ele ela eles elas você nós meu minha "
    "seu sua seus suas nosso nossa isso isto esse essa são foi foram estava estão tem têm tinha há até "
    "muito muita mais menos também já ainda quem qual tudo todo cada outro outra agora sempre aqui "
    "lá porém então "
    # Dutch
    "het een en niet ik jij je hij zij ze wij haar zijn mijn jouw ons onze deze dit dat geen elke ieder "
    "iets niets alles heeft hebben wordt werd werden kan kunnen moet moeten zal zou zouden "
    "voor naar uit bij tegen tussen onder zonder tijdens ook nog maar omdat terwijl toen waar wie wat waarom "
    "wanneer zeer veel meer er hier daar nu altijd nooit weer vaak "
    # Russian
    "и в во не на я он она оно они с со а как то по но его её их к ко у ты мы вы за бы же от ото меня мне тебя тебе "
    "него неё нам нас вам вас им ими или если когда где есть быть был была было были ещё еще уже из изо для до "
    "без под над при про через между перед это этот эта эти того тот та те кто что чтобы который которая которое которые мой моя мои твой "
    "твоя наш наша ваш ваша свой своя свои ли ни нет да там тут здесь только очень так тоже также о об обо себя сам сама сами"
)
# The same where English has a content word: alone they do not make a text one of another language.
ALSO_ENGLISH = _set(
    "bin con die met era hat ma par plus pour sans sin son ton war yo pendant car man will mag los non ante hen hun ben bent "
    "sera mai fra ai lo ha dal contra sino prima est hay ora tout fast bald den encore verso nun ali mia ella ed al com alla lei dos chi mis ser em mon nos dir "
    "han di bis"
)
COPULAS = _set("am is are was were")
DETERMINERS = _set("a an the this that these those my your his its our their her some any each every no")  # fmt: skip
# A verb follows these, and an adjective or a participle those below.
BEFORE_VERBS = _set(
    "i you he she it we they who will would shall should can could may might must cannot not do does did has have had never ever also just still"
)
CONJUNCTIONS = _set("and or but")
BEFORE_ADJECTIVES = COPULAS | _set("be been being too very so more most less least quite rather")


def uncontracted(word: str) -> str:
    """Word before a contraction (*I* of *I'm*); other words as they are.

    >>> [uncontracted(word) for word in ("i'm", "don't", "john's")]
    ['i', 'don', "john's"]
    """
    found = re.fullmatch(r"(.+)['’](?:m|s|re|ve|ll|d|t)", word)
    return found[1] if found and found[1] in FUNCTION_WORDS else word
