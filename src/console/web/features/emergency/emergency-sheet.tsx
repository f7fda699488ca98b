import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { TemplateRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { HoldButton } from "../../ui/hold-button.tsx";
import { ModeBar } from "../../ui/mode-bar.tsx";
import { MissingPermissions, PageQueriesProvider, PageStatus } from "../../ui/page-status.tsx";
import { useSend } from "../notifications/use-send.ts";
import { useEmergencyScenarios, useEmergencyTemplates } from "./emergency-templates.ts";
import { ReachNote } from "./reach-note.tsx";
import { ScenarioTiles } from "./scenario-tiles.tsx";

/** Big tiles: holding one sends a template or starts a scenario; a scenario that asks something leads to its questions. */
export default function EmergencySheet(props: SheetProps) {
  return (
    <PageQueriesProvider>
      <Sheet {...props} />
    </PageQueriesProvider>
  );
}

interface SheetProps {
  onClose(): void;
}

function Sheet({ onClose }: SheetProps) {
  const { t } = useTranslation();
  const templates = useEmergencyTemplates();
  const [drill, setDrill] = useState(false);
  const rows = templates.data ?? [];
  const started = useEmergencyScenarios();
  const scenarios = started.data?.data ?? [];
  const count = rows.length + scenarios.length;
  const isKnown = templates.data !== undefined && started.data !== undefined;
  return (
    <Dialog
      title={
        <>
          {t("emergency.title")} {drill && <span className="chip drill">{t("drill.word")}</span>}
        </>
      }
      className={drill ? "emergency-sheet in-drill" : "emergency-sheet"}
      onClose={onClose}
    >
      <div className="stack">
        <ModeBar drill={drill} onChange={setDrill} />
        <PageStatus />
        {isKnown && count === 0 && <NoTiles onClose={onClose} />}
        {count > 0 && <p>{drill ? t("emergency.drill") : t("emergency.live")}</p>}
        <section className="emergency-tiles" aria-label={t("emergency.tiles")}>
          <ScenarioTiles rows={scenarios} drill={drill} onClose={onClose} />
          <Tiles rows={rows} drill={drill} onClose={onClose} />
        </section>
        <MissingPermissions />
      </div>
    </Dialog>
  );
}

function NoTiles({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <div className="stack">
      <p>{t("emergency.none")}</p>
      <p className="soft">{t("emergency.mark", { field: t("field.emergency") })}</p>
      <p>
        <Link to="/templates" onClick={onClose}>
          {t("emergency.templates")}
        </Link>
      </p>
    </div>
  );
}

interface TilesProps {
  rows: readonly TemplateRow[];
  drill: boolean;
  onClose(): void;
}

function Tiles({ rows, drill, onClose }: TilesProps) {
  const navigate = useNavigate();
  const sending = useSend();
  const send = (row: TemplateRow) =>
    sending.send({ messageTemplateId: row.id, drill, priority: "critical" }, ({ id }) => {
      onClose();
      void navigate({ to: "/broadcasts/$notificationId", params: { notificationId: id } });
    });
  return (
    <>
      <ErrorLine error={sending.error} />
      {rows.map((row) =>
        namesNobody(row) ? (
          <UnreadyTile key={row.id} row={row} onClose={onClose} />
        ) : (
          <HoldButton
            key={row.id}
            className={drill ? "emergency-tile drill" : "emergency-tile"}
            disabled={sending.isPending}
            onHeld={() => send(row)}
          >
            <strong>{row.name}</strong>
            <span>{row.subject}</span>
            <Places row={row} />
            <ReachNote id={row.id} />
          </HoldButton>
        ),
      )}
    </>
  );
}

/** It could not be sent, so it can't be held: it leads to where that is mended. */
function UnreadyTile({ row, onClose }: { row: TemplateRow; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Link className="emergency-tile unready" to="/templates" search={{ open: row.id }} onClick={onClose}>
      <strong>{row.name}</strong>
      <span>{row.subject}</span>
      <em>{t("emergency.no-recipients")}</em>
    </Link>
  );
}

function namesNobody(row: TemplateRow): boolean {
  const { deviceGroupIds, distributionListIds, userIds, areaOfInterestIds, collaborationGroupIds } = row;
  const named = [deviceGroupIds, distributionListIds, userIds, areaOfInterestIds, collaborationGroupIds];
  return named.every((ids) => ids.length === 0);
}

/** Where it goes, which is the last thing to look at before holding. */
function Places({ row }: { row: TemplateRow }) {
  const ids = [...row.deviceGroupIds, ...row.distributionListIds];
  const all = { sort: "name", limit: 1_000 };
  const groups = useRows<{ id: string; name: string }>("device-groups", {}, all);
  const lists = useRows<{ id: string; name: string }>("distribution-lists", {}, all);
  const named = [...(groups.data?.data ?? []), ...(lists.data?.data ?? [])].filter(({ id }) => ids.includes(id));
  return <em>{named.map(({ name }) => name).join(", ")}</em>;
}
