import { Button, Select, Switch, TextInput } from "@mantine/core";
import { useState } from "react";
import type { IncidentRow, RosterEntry } from "../../api/scenario-rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import "../../ui/input-styles.ts";

/** People drawn at once; the others are found by their name. */
const MAX_DRAWN = 50;

interface Narrowed {
  name: string;
  missingOnly: boolean;
}

function isMeant({ name, status }: RosterEntry, narrowed: Narrowed): boolean {
  if (narrowed.missingOnly && status !== null) return false;
  return (name ?? "").toLowerCase().includes(narrowed.name.trim().toLowerCase());
}

/** Roster of an incident with one-click statuses. Nothing if its plan has no roster. */
export function Roster({ incident }: { incident: IncidentRow }) {
  const { t } = useTranslation();
  const { id, rostering, endedAt } = incident;
  const [narrowed, setNarrowed] = useState<Narrowed>({ name: "", missingOnly: false });
  const [where, setWhere] = useState<string | null>(null);
  const roster = useRow<{ data: RosterEntry[] }>(
    "incidents/{incidentId}/roster",
    { incidentId: id },
    {},
    { enabled: rostering !== null },
  );
  if (!rostering) return null;
  const all = roster.data?.data ?? [];
  const meant = all.filter((entry) => isMeant(entry, narrowed));
  const places = rostering.locations ?? [];
  const said = all.filter(({ status }) => status !== null).length;
  return (
    <section className="card" aria-label={t("roster.title")}>
      <h2>{t("roster.title")}</h2>
      <ErrorLine error={roster.error} />
      <p aria-live="polite">
        {all.length > 0 ? t("roster.count", { count: said, all: all.length }) : t("roster.empty")}
      </p>
      <div className="row end">
        <TextInput
          className="grow"
          label={t("roster.find")}
          value={narrowed.name}
          onChange={(event) => setNarrowed({ ...narrowed, name: event.currentTarget.value })}
        />
        {places.length > 0 && endedAt === null && (
          <Select label={t("roster.where")} data={places} value={where} clearable onChange={setWhere} />
        )}
      </div>
      <Switch
        label={t("roster.missing-only")}
        checked={narrowed.missingOnly}
        onChange={(event) => setNarrowed({ ...narrowed, missingOnly: event.currentTarget.checked })}
      />
      <ul className="plain lined">
        {meant.slice(0, MAX_DRAWN).map((entry) => (
          <Entry key={entry.userId} {...{ incident, entry, where }} />
        ))}
      </ul>
      {meant.length > MAX_DRAWN && <p className="soft">{t("roster.more", { count: meant.length - MAX_DRAWN })}</p>}
    </section>
  );
}

interface EntryProps {
  incident: IncidentRow;
  entry: RosterEntry;
  /** What is said of the place along with the next status. */
  where: string | null;
}

function Entry({ incident, entry, where }: EntryProps) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const { userId, status, location, at } = entry;
  const saying = useRowMutation<string, void>("incidents", async (next) => {
    const details = { userId, status: next, ...(where ? { location: where } : {}) };
    await client.post(
      "incidents/{incidentId}/activities",
      { incidentId: incident.id },
      { type: "roster-status", details },
    );
  });
  const choices = incident.endedAt === null ? (incident.rostering?.statuses ?? []) : [];
  const name = entry.name ?? "–";
  return (
    <li className="stack tight">
      <div className="row">
        <strong className="grow">{name}</strong>
        <Chip tone="">{status ?? t("roster.nothing")}</Chip>
        {location && <span>{location}</span>}
        {at && (
          <small className="soft">
            <Timestamp at={at} />
          </small>
        )}
      </div>
      {choices.length > 0 && (
        <div className="row">
          {choices.map((choice) => (
            <Button
              key={choice}
              variant={choice === status ? "filled" : "default"}
              size="compact-md"
              aria-label={`${name}: ${choice}`}
              aria-pressed={choice === status}
              disabled={saying.isPending}
              onClick={() => saying.mutate(choice)}
            >
              {choice}
            </Button>
          ))}
        </div>
      )}
      <ErrorLine error={saying.error} />
    </li>
  );
}
