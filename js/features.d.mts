/** Names of the features, in the order of the list. */
export function featureNames(): string[];
/** The module that exports the lazy code of all features. */
export function lazyFeatures(): string;
/** Write that module where it has changed. */
export function writeLazyFeatures(): void;
