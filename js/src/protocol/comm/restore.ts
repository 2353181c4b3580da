/** Messages of a model that its host has given up. */

/** The part of ipywidgets' models that is used here. anywidget hides the widget's own model, but not that of its layout. */
interface HostModel {
  readonly comm?: {
    on_msg(listener: (message: unknown) => unknown): void;
    send(message: unknown): unknown;
  };
  _handle_comm_msg?(message: unknown): Promise<unknown>;
}

/** The part of anywidget's model that is used here. */
interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): unknown;
}

const NOTHING = { content: { data: {} } };

/**
 * anywidget 0.11 drops every message of a model whose module took longer than 2 s to load, as it does on a busy machine.
 * Then ipywidgets' own handler takes them, and the kernel sends the widget's state again.
 */
export async function restoreMessages(model: Model): Promise<void> {
  const layout = model.get("layout") as HostModel | null | undefined;
  const handle = layout?._handle_comm_msg;
  if (handle === undefined) return; // a host without ipywidgets
  // Backbone's `set` returns the model itself.
  const own = model.set("layout", layout) as HostModel;
  try {
    await own._handle_comm_msg?.(NOTHING);
  } catch (error) {
    console.debug("attn-widget:", error);
    own.comm?.on_msg(handle.bind(own));
    own.comm?.send({ method: "request_state" });
  }
}
