/** Headings of tables of figures. */

/** A column's text, with its title and class; null for a column that needs none. */
export type Heading = string | readonly [text: string, title: string, name?: string] | null;

/** The row of headings. */
export const Headings = ({ of }: { readonly of: readonly Heading[] }) => (
  <thead>
    <tr>
      {of.map((heading, i) => {
        if (heading === null) return <td key={i} />;
        const [text, title, name] = typeof heading === "string" ? [heading] : heading;
        return (
          <th key={i} scope="col" title={title} class={name}>
            {text}
          </th>
        );
      })}
    </tr>
  </thead>
);
