/** Rows of what a view shows, numbers with all their digits; null = N/A. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}
