import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAxlPeer } from "../support/call-manager/axl-peer.ts";
import { createSimulatedCluster } from "../support/call-manager/simulated-cluster.ts";
import { startSnmpPeer } from "../support/call-manager/snmp-peer.ts";
import { LOOPBACK_SETTINGS, runInit, serveAppliance } from "../support/carillon-process.ts";
import {
  cutOffWriting,
  type PhoneRun,
  type PhoneStory,
  readCallManagerPhones,
  SNMP_USER,
} from "./call-manager-phones.ts";
import { type LoopStatistics, readLoopStatistics, startIdle, withLoopMonitor } from "./loop-monitor.ts";

/** Every way in which an administration interface fails, and how that must be named. */
const TROUBLES: PhoneStory["troubles"] = [
  [{ rows: 1_000, spelling: "Suggested row fetch" }, ""],
  [{ rows: 2_000, spelling: "Suggestive Row Fetch" }, ""],
  ["503", "busy"],
  ["401", "credentials"],
  ["403", "role"],
  ["404", "not-there"],
  ["garbage", "answer"],
  ["cut", "connect"],
  ["endless", "too-long"],
  ["never", "timeout"],
];

/** Refused at once, understood too late, and never answered, which takes longest to be noticed. */
const ALARMED = ["credentials", "answer", "timeout"];

/** A run, with the daemon's event loop during the first reading, and what the machine itself keeps everybody waiting. */
export interface PhoneMeasurement extends PhoneRun {
  pulse: LoopStatistics;
  machineLagMaxMs: number;
}

/** Runs the whole story on a daemon in a process of its own, with real agents. */
export async function measurePhones(count: number, say: (words: string) => void): Promise<PhoneMeasurement> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-phones-"));
  const data = join(folder, "data");
  const { token, endpointId } = await runInit(data);
  const cluster = createSimulatedCluster(count);
  const snmp = await startSnmpPeer(cluster, [SNMP_USER]);
  const axl = await startAxlPeer(cluster, { nodes: snmp.nodes });
  const settings = join(folder, "carillon.yaml");
  const callManagers = `callManagers: {snmpPort: ${snmp.port}, full: null, delta: null, partial: null}\n`;
  await writeFile(settings, `${LOOPBACK_SETTINGS}${callManagers}`);
  const idle = await startIdle(join(folder, "idle.json"));
  const pulseFile = join(folder, "pulse.json");
  let daemon = await withLoopMonitor(pulseFile, () => serveAppliance(data, ["--config", settings]));
  try {
    // What a daemon does first after its start is not the phones'.
    await pause(3_000);
    let pulse: LoopStatistics | null = null;
    const watching = async <T>(work: () => Promise<T>): Promise<T> => {
      daemon.child.kill("SIGUSR2");
      const done = await work();
      await pause(400);
      pulse = await readLoopStatistics(pulseFile);
      say(JSON.stringify(pulse));
      return done;
    };
    const scene = { url: daemon.url, token, endpointId, cluster, axl, snmp, watching };
    const story = { changes: Math.min(500, count / 2), troubles: TROUBLES, alarmed: ALARMED, withSilentNode: true };
    const run = await readCallManagerPhones(scene, story, say);
    const { lagMaxMs: machineLagMaxMs } = await readLoopStatistics(join(folder, "idle.json"));
    const startAgain = async () => {
      await daemon.end("SIGKILL");
      daemon = await serveAppliance(data, ["--config", settings]);
      return daemon;
    };
    run.broken.push(...(await cutOffWriting({ ...scene, url: daemon.url }, startAgain)));
    return { ...run, pulse: pulse ?? (await readLoopStatistics(pulseFile)), machineLagMaxMs };
  } finally {
    await daemon.end("SIGTERM");
    idle.stop();
    await Promise.all([axl.close(), snmp.close()]);
    await rm(folder, { recursive: true, force: true });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
