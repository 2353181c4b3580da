/** Bytes of the compiled kernels. */
export function compileKernels(options?: {
  readonly relaxed?: boolean;
}): Promise<Uint8Array<ArrayBuffer>>;
