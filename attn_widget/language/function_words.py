"""Words that stand in nearly every English text, by the place that they have in a sentence.

Openings (`attn_widget.analysis.opening`) and the sentences of the page read them: neither waits for a tagger. `make catalog` writes them to
js/src/catalog/function-words.ts. Pieces of contractions count (*don ' t*).
"""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


PRONOUNS = _set(
    "i you he she it we they me him her us them my your his its our their mine yours hers ours theirs "
    "myself yourself himself herself itself ourselves yourselves themselves"
)
FUNCTION_WORDS = PRONOUNS | _set(
    "a an the this that these those some any each every all both either neither such same other another "
    "and or but nor so yet if then than as although though unless until while because since whether "
    "of in on at by for with from to into onto over under about after before between through during against among "
    "within without across behind beyond beside besides along around above below near off up down out upon toward towards via per past despite except amid "
    "who whom whose which what when where why how whoever whatever "
    "am is are was were be been being do does did doing done has have had having "
    "will would shall should can could may might must ought cannot not no "
    "very too also only just even still again ever never there here now more most much many several few less least own quite rather "
    "n't 's 're 've 'll 'd 'm s t re ve ll d m don doesn didn isn aren wasn weren hasn haven hadn wouldn shouldn couldn ain"
)
INDEFINITE = _set(
    "nobody somebody anybody everybody someone anyone everyone none one half nothing something anything everything"  # words: ok
)
# Stand for a word before them.
REFERRING = _set(
    "he she it they him her them his hers its their theirs himself herself itself themselves who whom whose which"
)
# German, French and Spanish, in a text that has more of these.
ELSEWHERE = _set(
    "der die das den dem des ein eine einen einem einer eines und oder aber nicht ich du er sie es wir ihr mich mir dich dir ihn "
    "ihm ihnen uns euch mein meine dein deine sein seine seinen seiner seinem ihre ihren ihrem ihrer unser unsere dieser diese dieses "
    "war ist sind waren bin hat haben hatte wird werden wurde kann auch nur noch schon sehr mehr als wie wenn weil dass daß ob zu "
    "zum zur im am vom beim mit auf aus bei nach von vor für über unter durch gegen ohne um an in hier da dort was wer wo warum "
    "während so doch habe meinem meinen meiner "
    "le la les un une des du de et ou mais que qui ne pas je tu il elle nous vous ils elles on me te se lui leur mon ton son ma ta sa "
    "mes tes ses notre votre nos vos ce cet cette ces est sont était être a ont avait dans sur sous avec pour par sans plus très en "
    "au aux y quand pendant comme si où leurs "
    "el los las una unos unas del o pero no yo tú él ella nosotros ellos le su sus mi es era fue ser está ha han con por para sin "
    "sobre más muy como cuando donde al lo desde este esta estos muchas muchos"
)
COPULAS = _set("am is are was were")
DETERMINERS = _set("a an the this that these those my your his its our their her some any each every no")  # fmt: skip
# A verb follows these, and an adjective or a participle those below.
BEFORE_VERBS = _set(
    "i you he she it we they who will would shall should can could may might must cannot not do does did has have had never ever also just still"
)
CONJUNCTIONS = _set("and or but")
BEFORE_ADJECTIVES = COPULAS | _set("be been being too very so more most less least quite rather")
