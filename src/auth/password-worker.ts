import { parentPort } from "node:worker_threads";
import { BugError } from "../lib/errors.ts";
import { createStrengthEstimator, type PasswordStrengthRequest } from "./password-strength.ts";

/** Entry of the password worker thread. */
const port = parentPort;
if (!port) throw new BugError("password-worker is the entry of a thread");
const estimate = createStrengthEstimator();
port.on("message", (question: PasswordStrengthRequest) => port.postMessage(estimate(question)));
