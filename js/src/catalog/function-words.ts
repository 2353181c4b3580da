/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

export const PRONOUNS = words(
  "he her hers herself him himself his i it its itself me mine my myself our ours ourselves she their theirs them themselves they us we you your yours yourself yourselves",
);
export const FUNCTION_WORDS = words(
  "'d 'll 'm 're 's 've a about above across after again against ain all along also although am among an and another any are aren around as at be because been before behind being below beside besides between beyond both but by can cannot could couldn d did didn do does doesn doing don done down during each either even ever every few for from had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just least less ll m many may me might mine more most much must my myself n't near neither never no nor not now of off on only onto or other ought our ours ourselves out over own per quite rather re s same shall she should shouldn since so some still such t than that the their theirs them themselves then there these they this those though through to too toward towards under unless until up upon us ve very via was wasn we were weren what whatever when where whether which while who whoever whom whose why will with within without won would wouldn yet you your yours yourself yourselves",
);
export const INDEFINITE = words(
  "anybody anyone anything everybody everyone everything half nobody none nothing one somebody someone something",
);
export const REFERRING = words(
  "he her hers herself him himself his it its itself she their theirs them themselves they which who whom whose",
);
export const ELSEWHERE = words(
  "a aber al als am an au auch auf aus aux avait avec bei beim bin ce ces cet cette comme como con cuando da dans das dass daß de dein deine del dem den der des dich die diese dieser dieses dir doch donde dort du durch ein eine einem einen einer eines el ella elle elles ellos en er era es est está et euch fue für gegen ha haben han hat hatte hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer il ils im in ist je kann la las le les leur lo los lui ma mais me mehr mein meine mes mi mich mir mit mon muy más nach ne nicht no noch nos nosotros notre nous nur o ob oder ohne on ont ou où par para pas pendant pero plus por pour quand que qui sa sans schon se sehr sein seine seinem seinen seiner ser ses si sie sin sind so sobre son sont sous su sur sus ta te tes ton très tu tú um un una unas und une unos uns unser unsere unter vom von vor vos votre vous war waren warum was weil wenn wer werden wie wir wird wo wurde während y yo zu zum zur él était être über",
);
export const COPULAS = words("am are is was were");
export const DETERMINERS = words(
  "a an any each every her his its my no our some that the their these this those your",
);
export const BEFORE_VERBS = words(
  "also can cannot could did do does ever had has have he i it just may might must never not shall she should still they we who will would you",
);
export const CONJUNCTIONS = words("and but or");
export const BEFORE_ADJECTIVES = words(
  "am are be been being is least less more most quite rather so too very was were",
);
