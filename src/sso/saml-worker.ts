import { parentPort } from "node:worker_threads";
import { BugError } from "../lib/errors.ts";
import { handleSamlRequest } from "./saml-processor.ts";
import type { SamlWorkerRequest } from "./saml-worker-messages.ts";

/** Entry of the SAML worker thread: loading the library and validating untrusted responses is slow. */
const port = parentPort;
if (!port) throw new BugError("saml-worker is the entry of a thread");
port.on(
  "message",
  (input: SamlWorkerRequest) => void handleSamlRequest(input).then((response) => port.postMessage(response)),
);
