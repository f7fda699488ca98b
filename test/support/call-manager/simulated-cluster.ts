/** A phone that the simulated cluster has. */
export interface SimulatedPhone {
  uuid: string;
  name: string;
  description: string;
  model: string;
  pool: string;
  lines: string[];
  /** Which of the nodes knows it: 0 or 1. */
  node: number;
  registered: boolean;
  address: string;
}

/** A change of the cluster's database. */
interface ClusterChange {
  id: number;
  action: "a" | "u" | "r";
  uuid: string;
}

/** What a simulated cluster knows; the administration interface and the agents of its nodes tell it. */
export interface SimulatedCluster {
  phones: Map<string, SimulatedPhone>;
  changes: ClusterChange[];
  /** Adds, changes or removes a phone and notes it for those who ask for changes. */
  recordChange(action: ClusterChange["action"], name: string): void;
}

/** Makes a cluster of `count` phones; every tenth is not registered, every third has two lines. */
export function createSimulatedCluster(count: number): SimulatedCluster {
  const phones = new Map<string, SimulatedPhone>();
  for (let at = 0; at < count; at++) {
    const phone = simulatedPhoneAt(at);
    phones.set(phone.name, phone);
  }
  const changes: ClusterChange[] = [];
  return {
    phones,
    changes,
    recordChange(action, name) {
      const uuid = phones.get(name)?.uuid ?? "";
      if (action === "r") phones.delete(name);
      changes.push({ id: changes.length + 1, action, uuid });
    },
  };
}

/** The phone that stands at a place. */
export function simulatedPhoneAt(at: number): SimulatedPhone {
  const hex = at.toString(16).toUpperCase().padStart(6, "0");
  const lines = at % 3 === 0 ? [`4${at}`, `5${at}`] : [`4${at}`];
  return {
    uuid: `0a000000-0000-4000-8000-${hex.toLowerCase().padStart(12, "0")}`,
    name: `SEP00AABB${hex.slice(-6)}`,
    description: `Room ${at} <"&'> Büro`,
    model: at % 2 === 0 ? "Cisco 8841" : "Cisco 7841",
    pool: `Pool ${at % 4}`,
    lines,
    node: at % 2,
    registered: at % 10 !== 0,
    address: `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`,
  };
}
