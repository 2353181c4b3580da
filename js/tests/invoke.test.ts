import { describe, expect, it } from "vitest";
import { invokeWith, type Messages } from "../src/protocol/comm/invoke";
import { restoreMessages } from "../src/protocol/comm/restore";

type Listener = (...values: unknown[]) => void;

/** A model whose kernel answers every message with its name. */
function model(answers = true) {
  const listeners = new Set<Listener>();
  const sent: unknown[] = [];
  const made: Messages = {
    send(content) {
      sent.push(content);
      const { id, name } = content as { id: string; name: string };
      const fire = (reply: unknown, buffers: unknown) => {
        for (const listener of [...listeners]) listener(reply, buffers);
      };
      if (!answers) return;
      queueMicrotask(() => {
        fire({ id: "somebody else's" }, []);
        fire({ id, kind: "anywidget-command-response", response: name }, [new ArrayBuffer(2)]);
      });
    },
    on: (_, listener) => listeners.add(listener),
    off: (_, listener) => listeners.delete(listener),
  };
  return { made, sent, listeners };
}

const options = () => ({ signal: new AbortController().signal });
const unsupported = () => Promise.reject(new Error("anywidget.invoke not supported in marimo."));

describe("asking the kernel", () => {
  it("uses the host's own way where it has one", async () => {
    const { made, sent } = model();
    const ask = invokeWith(made, async () => ["host", []]);
    expect(await ask("slice", {}, options())).toEqual(["host", []]);
    expect(sent).toEqual([]);
  });

  it("sends anywidget's messages where the host has no way of its own", async () => {
    const { made, sent, listeners } = model();
    let tried = 0;
    const ask = invokeWith(made, () => {
      tried++;
      return unsupported();
    });
    const [response, buffers] = await ask("slice", { kind: "language" }, options());
    expect(response).toBe("slice");
    expect(buffers).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      kind: "anywidget-command",
      name: "slice",
      msg: { kind: "language" },
    });
    await ask("act", {}, options());
    expect(tried).toBe(1);
    expect(listeners.size).toBe(0);
  });

  it("passes on any other failure of the host", async () => {
    const { made, sent } = model();
    const ask = invokeWith(made, () => Promise.reject(new Error("timed out")));
    await expect(ask("slice", {}, options())).rejects.toThrow("timed out");
    expect(sent).toEqual([]);
  });

  it("gives up when nobody waits any more", async () => {
    const { made, listeners } = model(false);
    const controller = new AbortController();
    const waiting = invokeWith(made, unsupported)("slice", {}, { signal: controller.signal });
    await Promise.resolve();
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(listeners.size).toBe(0);
  });
});

/** ipywidgets' model, of which anywidget shows the page only a part. */
class HostModel {
  readonly sent: unknown[] = [];
  readonly heard: unknown[] = [];
  listener: (message: unknown) => unknown = () => undefined;
  readonly comm = {
    on_msg: (listener: (message: unknown) => unknown) => {
      this.listener = listener;
    },
    send: (message: unknown) => this.sent.push(message),
  };
  async _handle_comm_msg(message: unknown): Promise<void> {
    this.heard.push(message);
  }
}

class AnyModel extends HostModel {
  constructor(readonly ready: Promise<void>) {
    super();
  }
  override async _handle_comm_msg(message: unknown): Promise<void> {
    await this.ready;
    return super._handle_comm_msg(message);
  }
}

/** The page's part of a model. */
const shown = (own: HostModel, layout: unknown) => ({ get: () => layout, set: () => own });

describe("messages of a model whose module has loaded", () => {
  it("stay with the host if it was in time", async () => {
    const own = new AnyModel(Promise.resolve());
    await restoreMessages(shown(own, new HostModel()));
    own.listener("an update");
    expect(own.sent).toEqual([]);
    expect(own.heard).not.toContain("an update");
  });

  it("are heard, and the state is asked for, if the host has given up", async () => {
    const own = new AnyModel(Promise.reject(new Error("Failed to initialize model.")));
    await restoreMessages(shown(own, new HostModel()));
    own.listener("an update");
    expect(own.sent).toEqual([{ method: "request_state" }]);
    expect(own.heard).toEqual(["an update"]);
  });

  it("are left alone in a host without ipywidgets", async () => {
    const own = new AnyModel(Promise.reject(new Error("Failed to initialize model.")));
    own.ready.catch(() => undefined);
    await restoreMessages(shown(own, "IPY_MODEL_1"));
    expect(own.sent).toEqual([]);
  });
});
