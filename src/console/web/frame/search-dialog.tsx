import { TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { DeviceRow, GroupRow, TemplateRow, UserRow } from "../api/rows.ts";
import type { ScenarioRow } from "../api/scenario-rows.ts";
import { useRows } from "../api/use-rows.ts";
import { isForbidden } from "../i18n/error-text.ts";
import { useTranslation } from "../i18n/use-translation.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorLine } from "../ui/error-line.tsx";
import { NAVIGATION } from "./navigation.tsx";
import "@mantine/core/styles/Input.css";

interface Hit {
  key: string;
  kind: string;
  text: string;
  go(): void;
}

const LIMIT = 6;

/** Ctrl-K: pages, scenarios, templates, people, devices and groups by a few letters. */
export default function SearchDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { hits, isReading, error } = useHits(text.trim());
  const choose = (hit: Hit | undefined) => {
    if (!hit) return;
    hit.go();
    onClose();
  };
  const onKey = (key: string) => {
    if (key === "ArrowDown") setAt(Math.min(at + 1, hits.length - 1));
    else if (key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (key === "Enter") choose(hits[at]);
  };
  return (
    <Dialog onClose={onClose} title={t("search.title")}>
      <div className="stack">
        <TextInput
          data-autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls="search-hits"
          {...(hits[at] ? { "aria-activedescendant": hits[at].key } : {})}
          aria-label={t("search.label")}
          placeholder={t("search.label")}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={(event) => onKey(event.key)}
        />
        <ErrorLine error={error} />
        <div id="search-hits" role="listbox" aria-label={t("search.hits")} className="stack">
          {hits.map((hit, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys are read in the field
            // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
            <div
              key={hit.key}
              id={hit.key}
              role="option"
              aria-selected={index === at}
              className="tile"
              style={index === at ? { borderColor: "var(--accent)" } : {}}
              onClick={() => choose(hit)}
            >
              {hit.text}
              <small>{hit.kind}</small>
            </div>
          ))}
        </div>
        {hits.length === 0 && !isReading && <p className="soft">{t("search.none")}</p>}
      </div>
    </Dialog>
  );
}

function useHits(text: string): { hits: Hit[]; isReading: boolean; error: unknown } {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const enabled = { enabled: text.length > 1 };
  const query = { q: text, limit: 100 };
  const templates = useRows<TemplateRow>("message-templates", {}, query, enabled);
  const scenarios = useRows<ScenarioRow>("scenarios", {}, query, enabled);
  const users = useRows<UserRow>("users", {}, query, enabled);
  const devices = useRows<DeviceRow>("devices", {}, query, enabled);
  const groups = useRows<GroupRow>("device-groups", {}, query, enabled);
  const found = <T extends { id: string }>(
    rows: readonly T[] | undefined,
    kind: string,
    words: (row: T) => string,
    go: (row: T) => unknown,
  ): Hit[] =>
    (enabled.enabled ? (rows ?? []) : [])
      .filter((row) => words(row).toLowerCase().includes(text.toLowerCase()))
      .slice(0, LIMIT)
      .map((row) => ({ key: row.id, kind, text: words(row), go: () => void go(row) }));
  const all = [templates, scenarios, users, devices, groups];
  const hits = [
    ...NAVIGATION.map(({ to, word }) => ({
      key: to,
      kind: t("search.page"),
      text: t(word),
      go: () => void navigate({ to }),
    })).filter((hit) => hit.text.toLowerCase().includes(text.toLowerCase())),
    ...found(
      scenarios.data?.data,
      t("scenarios.title"),
      ({ name }) => name,
      ({ id }) => navigate({ to: "/scenarios/$scenarioId/start", params: { scenarioId: id } }),
    ),
    ...found(
      templates.data?.data,
      t("templates.title"),
      ({ name }) => name,
      ({ id }) => navigate({ to: "/send", search: { open: id } }),
    ),
    ...found(
      users.data?.data,
      t("users.title"),
      ({ name, email }) => [name, email].filter(Boolean).join(" · "),
      ({ id }) => navigate({ to: "/people", search: { open: id } }),
    ),
    ...found(
      devices.data?.data,
      t("devices.title"),
      (row) => `${row.description} · ${row.deviceIdentifier}`,
      ({ id }) => navigate({ to: "/devices", search: { open: id } }),
    ),
    ...found(
      groups.data?.data,
      t("groups.title"),
      ({ name }) => name,
      ({ id }) => navigate({ to: "/device-groups", search: { open: id } }),
    ),
  ];
  return {
    hits,
    isReading: all.some((each) => each.isFetching),
    // What somebody may not see is not found.
    error: all.map((each) => each.error).find((each) => each && !isForbidden(each)) ?? null,
  };
}
