import { expect } from "vitest";
import { readCallManagerPhones, SNMP_USER } from "../faults/call-manager-phones.ts";
import { startAxlPeer } from "../support/call-manager/axl-peer.ts";
import { createSimulatedCluster } from "../support/call-manager/simulated-cluster.ts";
import { startSnmpPeer } from "../support/call-manager/snmp-peer.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

externalProgram("snmpd").it(
  "reads the phones of a cluster, follows what changes, and keeps them through failures",
  async () => {
    const cluster = createSimulatedCluster(300);
    const snmp = await startSnmpPeer(cluster, [SNMP_USER]);
    const axl = await startAxlPeer(cluster, { nodes: snmp.nodes });
    const callManagers = `callManagers: {snmpPort: ${snmp.port}, full: null, delta: null, partial: null}\n`;
    const network = "network: {allowedTargets: [127.0.0.0/8], multicastInterface: 127.0.0.1}\n";
    const daemon = await startTestDaemon({ settings: network + callManagers });
    try {
      const { token, endpointId } = daemon.first;
      const scene = { url: daemon.url, token, endpointId, cluster, axl, snmp };
      const troubles = [
        [{ rows: 250, spelling: "Suggestive Row Fetch" }, ""],
        ["garbage", "answer"],
        ["endless", "too-long"],
      ] as const;
      const { broken } = await readCallManagerPhones(
        scene,
        { changes: 30, troubles, alarmed: [], withSilentNode: false },
        () => undefined,
      );
      expect(broken).toEqual([]);
      expect(axl).toMatchObject({ overlaps: 0 });
      expect(axl.sessions).toBeGreaterThan(axl.signIns);
    } finally {
      await daemon.stop();
      await Promise.all([axl.close(), snmp.close()]);
    }
  },
  120_000,
);
