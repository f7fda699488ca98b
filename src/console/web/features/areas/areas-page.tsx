import { Button } from "@mantine/core";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { AreaRow, SiteRow } from "../../api/place-rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import type { MapBackground } from "../../ui/map/map-background.ts";
import { NEW } from "../../ui/row-sheet.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { type AreaDraft, areaDraftOf, withCenter, withRadius } from "./area-draft.ts";
import { AreaMap } from "./area-map.tsx";
import { AreaPanel } from "./area-panel.tsx";
import { BackgroundSelect } from "./background-select.tsx";
import type { EditableMap } from "./editable-map.ts";
import "../../ui/lines.css";
import { PageTitle } from "../../ui/page-title.tsx";

const GRID: MapBackground = { kind: "grid" };
/** What is seen around a site where there is no area yet. */
const AROUND_SITE_M = 300;
/** There are at most twenty. */
const LIMIT = 100;

/** Areas on a map; everyone inside one can be sent a message. */
export default function AreasPage() {
  const { t } = useTranslation();
  const [{ open }, show] = useTableSearch();
  const areas = useRows<AreaRow>("areas-of-interest", {}, { limit: LIMIT, sort: "name" });
  const rows = useMemo<readonly AreaRow[]>(() => areas.data?.data ?? [], [areas.data]);
  const [map, setMap] = useState<EditableMap | null>(null);
  const [background, setBackground] = useState<MapBackground>(GRID);
  const row = rows.find(({ id }) => id === open) ?? null;
  const isInSight = useFirstView(map, areas.data ? rows : null, row !== null);
  const [draft, setDraft] = useDraft(open, row, isInSight ? map : null);
  const onSelect = useCallback((id: string) => show({ open: id }), [show]);
  return (
    <div className="page">
      <SectionTabs of="devices" />
      <div className="head">
        <PageTitle>{t("areas.title")}</PageTitle>
        <span className="space" />
        <Button onClick={() => show({ open: NEW })} disabled={open === NEW}>
          {t("areas.add")}
        </Button>
      </div>
      <p className="soft">{t("areas.intro")}</p>
      <ErrorLine error={areas.error} />
      <div className="area-page">
        <div className="stack">
          <AreaMap
            areas={rows}
            drawnId={row?.id ?? null}
            {...{ draft, background, onSelect }}
            onDraw={setDraft}
            onReady={setMap}
          />
          {draft && <p className="soft">{t("areas.map-hint")}</p>}
          <BackgroundSelect onChoose={setBackground} />
        </div>
        {draft && (row || open === NEW) ? (
          <AreaPanel key={open} {...{ row, draft }} onDraw={setDraft} onClose={(madeId) => show({ open: madeId })} />
        ) : (
          <AreaList rows={areas.data ? rows : null} onSelect={onSelect} />
        )}
      </div>
    </div>
  );
}

/** What is drawn: the area that is open, or a new one in the middle of what is seen. */
function useDraft(open: string | undefined, row: AreaRow | null, map: EditableMap | null) {
  const [draft, setDraft] = useState<AreaDraft | null>(null);
  const saved = useMemo(() => row && areaDraftOf(row), [row]);
  const isThere = saved !== null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the drawing stays while the row is read again
  useEffect(() => {
    if (!map) return;
    if (open === NEW) {
      const { latitude, longitude, radiusInM } = map.circleInView();
      const bare = { name: "", latitude: 0, longitude: 0, radiusInM: 1, syncedDeviceTypes: [] };
      setDraft(withRadius(withCenter(bare, latitude, longitude), radiusInM));
    } else {
      setDraft(saved);
      if (saved) map.goTo([saved]);
    }
  }, [open, isThere, map]);
  return [draft, setDraft] as const;
}

/** At first all areas are seen; where there is none, the first site. True once that is so, or one area is open instead. */
function useFirstView(map: EditableMap | null, rows: readonly AreaRow[] | null, isOpen: boolean): boolean {
  const sites = useRows<SiteRow>("sites", {}, { limit: LIMIT });
  const site = sites.data?.data.find(({ latitude, longitude }) => latitude !== null && longitude !== null);
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!map || rows === null || isDone || (rows.length === 0 && sites.isLoading)) return;
    setDone(true);
    if (isOpen) return;
    if (rows.length > 0) map.goTo(rows.map(areaDraftOf));
    else if (site) {
      map.goTo([{ latitude: site.latitude ?? 0, longitude: site.longitude ?? 0, radiusInM: AROUND_SITE_M }]);
    }
  }, [map, rows, site, sites.isLoading, isDone, isOpen]);
  return isDone;
}

function AreaList({ rows, onSelect }: { rows: readonly AreaRow[] | null; onSelect: (id: string) => void }) {
  const { t } = useTranslation();
  return (
    <section className="card area-panel">
      <h2>{t("areas.list")}</h2>
      {rows?.length === 0 && <p>{t("areas.none")}</p>}
      <ul className="plain">
        {rows?.map((row) => (
          <li key={row.id}>
            <button type="button" className="tile wide" onClick={() => onSelect(row.id)}>
              {row.name}
              <small>{t("areas.size", { count: areaDraftOf(row).radiusInM })}</small>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
