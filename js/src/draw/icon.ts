/** Line icons that no font has to bring. */

export const ICONS = {
  fit: "M9.5 2.5h4v4M6.5 13.5h-4v-4M13.5 2.5l-5 5M2.5 13.5l5-5",
  full: "M2.5 6v-3.5h3.5M10 2.5h3.5v3.5M13.5 10v3.5h-3.5M6 13.5h-3.5v-3.5",
  history: "M2.5 8a5.5 5.5 0 1 0 2-4.24M2.5 2.5v2.5h2.5M8 5v3.25l2.25 1.5",
  save: "M8 2.5v7.5M4.75 7l3.25 3.25 3.25-3.25M2.5 10.5v3h11v-3",
} as const;
