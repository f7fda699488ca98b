import { Link } from "@tanstack/react-router";
import type { AppliancesAnswer } from "../../api/link-rows.ts";
import { useFollowing, useLink, useRow } from "../../api/use-rows.ts";
import { useWords } from "../../i18n/use-translation.tsx";
import { Tabs } from "../../ui/section-tabs.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { EnrolForm } from "./enrolment-form.tsx";
import { Cover } from "./failover-groups.tsx";
import { Pairs } from "./failover-pairs.tsx";
import { LinkFacts } from "./link-status.tsx";
import { LeaveButton } from "./unlink-button.tsx";
import "../../ui/lines.css";

/** How the appliance stands to its cloud, and who covers for whom. */
export default function CloudPage() {
  const { t } = useWords();
  const link = useLink();
  // The feed tells that its state is another, not how many records wait.
  useFollowing("link");
  return (
    <div className="page">
      <Tabs of="system" />
      <h1>{t("cloud.title")}</h1>
      {link?.role === "hub" && <OwnCloud />}
      {link?.role === "appliance" && (
        <section className="card" aria-label={t("cloud.link")}>
          <h2>{t("cloud.link")}</h2>
          <LinkFacts link={link} />
          {link.hub === null ? <EnrolForm /> : <Linked isRefused={link.state === "refused"} />}
        </section>
      )}
      <Cover />
      <Pairs />
    </div>
  );
}

/** One that the cloud refuses can only be linked anew. */
function Linked({ isRefused }: { isRefused: boolean }) {
  const { t } = useWords();
  return (
    <>
      {isRefused && (
        <details>
          <summary>{t("cloud.enrol-again")}</summary>
          <EnrolForm />
        </details>
      )}
      <LeaveButton />
    </>
  );
}

function OwnCloud() {
  const { t } = useWords();
  const found = useRow<AppliancesAnswer>("link/appliances");
  const appliances = found.data?.appliances ?? [];
  const linked = appliances.filter((each) => each.link === "linked").length;
  return (
    <section className="card">
      <h2>{t("cloud.own")}</h2>
      <div className="row">
        <Chip tone={linked === appliances.length ? "good" : "warn"}>
          {t("cloud.own-count", { n: appliances.length, linked })}
        </Chip>
        <Link to="/appliances">{t("cloud.own-go")}</Link>
      </div>
    </section>
  );
}
