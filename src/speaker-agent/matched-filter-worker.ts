import { parentPort } from "node:worker_threads";
import { createMatchedFilter, MAX_P_VALUE } from "./matched-filter.ts";
import type { FilterReport, FilterRequest } from "./room-microphone.ts";

/** Entry point of the thread that compares a recording with what is played: a segment takes some 100 ms on small machines. */
const filter = createMatchedFilter();

parentPort?.on("message", (request: FilterRequest) => {
  const send = (report: FilterReport): void => parentPort?.postMessage(report);
  if (request.kind === "played") filter.addPlayed(request.pcm);
  else if (request.kind === "recorded") filter.addRecorded(request.pcm);
  else {
    filter.finish();
    send({ kind: "finished", detection: filter.detection });
    return;
  }
  const { detection } = filter;
  if (detection && detection.pValue <= MAX_P_VALUE) send({ kind: "heard", detection });
});
