export { saveMenu } from "./menu";
