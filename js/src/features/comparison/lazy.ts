export { liveComparison } from "./live";
export { openComparison as openPair } from "./saved";
