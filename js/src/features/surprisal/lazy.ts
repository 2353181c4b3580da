export { wordsPart as addToPredictions } from "./part";
