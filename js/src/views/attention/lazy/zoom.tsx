/** Zoom by buttons. */

import { Button, Icon } from "../../../ui/controls";

const ZOOM = 1.6;

/** `zoom` gets the factor; null shows all. */
export const ZoomButtons = ({ zoom }: { readonly zoom: (factor: number | null) => void }) => (
  <div class="aw-zoom" role="group" aria-label="Zoom">
    <Button label="Zoom out" title="Zoom out" onClick={() => zoom(1 / ZOOM)}>
      −
    </Button>
    <Button label="Zoom in" title="Zoom in" onClick={() => zoom(ZOOM)}>
      +
    </Button>
    <Button label="Show all" title="Show all" onClick={() => zoom(null)}>
      <Icon name="fit" />
    </Button>
  </div>
);
