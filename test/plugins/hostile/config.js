import { text } from "#plugin-api";

export default { server: text("Where it connects to.") };
