import { readFileSync } from "node:fs";

/** What all threads of a process have used, in ms. @source proc(5), stat; hundredths of a second */
export function cpuTimeMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
