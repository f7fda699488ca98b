import { parentPort } from "node:worker_threads";
import { BugError } from "../base/errors.ts";
import { answerSaml } from "./saml-library.ts";
import type { SamlQuestion } from "./saml-questions.ts";

/** Speaks SAML in a thread of its own: reading what anybody may post, and loading the library, takes long. */
const port = parentPort;
if (!port) throw new BugError("saml-worker is the entry of a thread");
port.on("message", (question: SamlQuestion) => void answerSaml(question).then((answer) => port.postMessage(answer)));
