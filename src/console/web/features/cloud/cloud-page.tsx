import { Link } from "@tanstack/react-router";
import type { ApplianceOverview } from "../../api/link-rows.ts";
import { useCloudLink, usePolling, useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { EnrolmentForm } from "./enrolment-form.tsx";
import { FailoverGroups } from "./failover-groups.tsx";
import { FailoverPairs } from "./failover-pairs.tsx";
import { LinkStatus } from "./link-status.tsx";
import { UnlinkButton } from "./unlink-button.tsx";
import "../../ui/lines.css";
import { PageTitle } from "../../ui/page-title.tsx";

/** Link to the cloud, and failover. */
export default function CloudPage() {
  const { t } = useTranslation();
  const link = useCloudLink();
  // The feed tells that its state is another, not how many records wait.
  usePolling("link");
  return (
    <div className="page">
      <SectionTabs of="system" />
      <PageTitle>{t("cloud.title")}</PageTitle>
      {link?.role === "hub" && <OwnCloud />}
      {link?.role === "appliance" && (
        <section className="card" aria-label={t("cloud.link")}>
          <h2>{t("cloud.link")}</h2>
          <LinkStatus link={link} />
          {link.hub === null ? <EnrolmentForm /> : <Linked isRefused={link.state === "refused"} />}
        </section>
      )}
      <FailoverGroups />
      <FailoverPairs />
    </div>
  );
}

/** An appliance that the cloud refuses can only be linked again. */
function Linked({ isRefused }: { isRefused: boolean }) {
  const { t } = useTranslation();
  return (
    <>
      {isRefused && (
        <details>
          <summary>{t("cloud.enrol-again")}</summary>
          <EnrolmentForm />
        </details>
      )}
      <UnlinkButton />
    </>
  );
}

function OwnCloud() {
  const { t } = useTranslation();
  const found = useRow<ApplianceOverview>("link/appliances");
  const appliances = found.data?.appliances ?? [];
  const linked = appliances.filter((each) => each.link === "linked").length;
  return (
    <section className="card">
      <h2>{t("cloud.own")}</h2>
      <div className="row">
        <Chip tone={linked === appliances.length ? "good" : "warn"}>
          {t("cloud.own-count", { count: appliances.length, linked })}
        </Chip>
        <Link to="/appliances">{t("cloud.own-go")}</Link>
      </div>
    </section>
  );
}
