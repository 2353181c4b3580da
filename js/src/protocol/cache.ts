/** A cache that forgets what was least recently used, once it holds more than `limit` bytes. */
export class ByteCache<V> {
  #entries = new Map<string, { value: V; bytes: number }>();
  #pending = new Map<string, Promise<V>>();
  #bytes = 0;

  constructor(readonly limit: number) {}

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: V, bytes: number): void {
    this.#drop(key);
    if (bytes > this.limit) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.limit) break;
      this.#drop(oldest);
    }
  }

  /** From the cache, or made once, however many ask for it meanwhile. */
  async kept(key: string, make: () => Promise<V>, bytesOf: (value: V) => number): Promise<V> {
    const cached = this.get(key) ?? this.#pending.get(key);
    if (cached !== undefined) return cached;
    const fresh = make();
    this.#pending.set(key, fresh);
    try {
      const value = await fresh;
      this.set(key, value, bytesOf(value));
      return value;
    } finally {
      this.#pending.delete(key);
    }
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}
