/** vitest's settings, for `npm test` and `npx vitest run --root js NAME` alike. */
export default {
  // ms: a machine whose cores are all busy takes six times as long as vitest allows.
  test: { testTimeout: 30_000, hookTimeout: 30_000 },
};
