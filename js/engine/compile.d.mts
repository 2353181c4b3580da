/** Bytes of the compiled kernels. */
export function compileKernels(): Promise<Uint8Array<ArrayBuffer>>;
