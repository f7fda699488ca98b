import { parentPort } from "node:worker_threads";
import { BugError } from "../lib/errors.ts";
import { handleSamlRequest } from "./saml-processor.ts";
import type { SamlWorkerRequest } from "./saml-worker-messages.ts";

/** Speaks SAML in a thread of its own: reading what anybody may post, and loading the library, takes long. */
const port = parentPort;
if (!port) throw new BugError("saml-worker is the entry of a thread");
port.on(
  "message",
  (question: SamlWorkerRequest) => void handleSamlRequest(question).then((answer) => port.postMessage(answer)),
);
