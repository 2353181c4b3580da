/* Order of the search: pages that explain, before pages that list. */
var Scorer = {
  score: ([name, , , , score]) => {
    const place = [/^docs\/|^guide$|^README$/, /^notebooks\/|^index$|^gallery$/, /^reference\//].findIndex((each) => each.test(name));
    return score + [60, 40, 10][place] || score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
