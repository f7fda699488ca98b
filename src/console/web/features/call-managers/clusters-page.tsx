import type { ClusterRow } from "../../api/rows.ts";
import { useCloudLink } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { ClusterPhones } from "./cluster-phones.tsx";
import { ClusterServers } from "./cluster-servers.tsx";
import { SecretHandOver } from "./secret-hand-over.tsx";

const VERSIONS = ["2", "3"] as const;

/** Call managers whose phones are discovered automatically. */
export default function ClustersPage() {
  const { t } = useTranslation();
  return (
    <ListPage<ClusterRow>
      tabs="devices"
      title={t("cluster.title")}
      add={t("cluster.add")}
      none={t("cluster.none")}
      route="callmgr-clusters"
      columns={[
        { id: "address", head: t("cluster.address"), width: "1.5fr", cell: (row) => row.axlAddress },
        { id: "servers", head: t("cluster.servers"), width: "1.5fr", cell: (row) => <Servers row={row} /> },
      ]}
      sheet={(id, onClose) => <ClusterSheet key={id} id={id} onClose={onClose} />}
    />
  );
}

function Servers({ row }: { row: ClusterRow }) {
  const { t } = useTranslation();
  const servers = row.callmgrClusterOnpremServers ?? [];
  return servers
    .map(({ endpointName, isPhoneGatherer }) =>
      isPhoneGatherer ? `${endpointName ?? "–"} (${t("cluster.gatherer")})` : (endpointName ?? "–"),
    )
    .join(", ");
}

function ClusterSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation();
  const isHub = useCloudLink()?.role === "hub";
  const isVersion =
    (version: string) =>
    ({ snmpVersion }: Readonly<Record<string, unknown>>): boolean =>
      snmpVersion === version;
  return (
    <RowSheet
      id={id}
      item="callmgr-clusters/{cucmClusterId}"
      newTitle={t("cluster.add")}
      onClose={onClose}
      {...(id === NEW ? { initial: { snmpVersion: "3" } } : {})}
      fields={[
        { name: "name" },
        { name: "axlAddress", hint: t("cluster.axl-hint") },
        { name: "axlUser" },
        { name: "axlPassword" },
        { name: "axlFingerprint", hint: t("cluster.fingerprint-hint") },
        { name: "snmpVersion", choices: VERSIONS.map((value) => ({ value, label: value })) },
        { name: "snmpCommunity", shown: isVersion("2") },
        { name: "snmpUsername", shown: isVersion("3") },
        { name: "snmpAuthPassword", shown: isVersion("3") },
        { name: "snmpEncryptPassword", shown: isVersion("3") },
        { name: "nextAuthenticationUrl" },
        { name: "tftpAddress", hint: t("cluster.tftp-hint") },
        { name: "tftpPort", shown: ({ tftpAddress }) => Boolean(tftpAddress) },
      ]}
      tabs={[
        { id: "phones", label: t("cluster.phones"), content: <ClusterPhones cucmClusterId={id} /> },
        { id: "servers", label: t("cluster.servers"), content: <ClusterServers cucmClusterId={id} /> },
        ...(isHub
          ? [{ id: "secrets", label: t("hand-over.title"), content: <SecretHandOver cucmClusterId={id} /> }]
          : []),
      ]}
    />
  );
}
