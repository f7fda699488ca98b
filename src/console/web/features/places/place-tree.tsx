import { useState } from "react";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { NEW } from "../../ui/row-sheet.tsx";
import { usePendingRemovalIds } from "../../ui/use-removal.ts";
import {
  childCount,
  PLACE_ROUTES,
  type PlaceLevel,
  type PlacePath,
  type PlaceRow,
  parentPaths,
  placeLevelOf,
  placePathText,
  placeRouteParams,
} from "./place-levels.ts";
import "../security/domains.css";
import "./places.css";

interface PlaceTreeProps {
  /** Letters that the sites have in them; all sites when empty. */
  q: string;
  /** The place whose sheet is open. */
  opened: PlacePath;
  onOpen(path: PlacePath): void;
}

/** Lazily loaded tree of sites, buildings, floors and zones. */
export function PlaceTree({ q, opened, onOpen }: PlaceTreeProps) {
  const { t } = useTranslation();
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(() => new Set(parentPaths(opened).map(placePathText)));
  const toggle = (path: PlacePath) => {
    const next = new Set(unfolded);
    if (!next.delete(placePathText(path))) next.add(placePathText(path));
    setUnfolded(next);
  };
  return (
    <nav className="card" aria-label={t("places.tree")}>
      <Branch above={[]} inName="" {...{ q, unfolded, toggle, onOpen }} />
    </nav>
  );
}

interface BranchProps {
  above: PlacePath;
  /** What people call the place above. */
  inName: string;
  q?: string;
  unfolded: ReadonlySet<string>;
  toggle(path: PlacePath): void;
  onOpen(path: PlacePath): void;
}

const LIMIT = 1_000;

function Branch({ above, inName, q, unfolded, toggle, onOpen }: BranchProps) {
  const { t } = useTranslation();
  const level = placeLevelOf([...above, NEW]) as PlaceLevel;
  const { collection, query } = PLACE_ROUTES[level];
  const rows = useRows<PlaceRow>(collection, placeRouteParams(above), { ...query, limit: LIMIT, ...(q ? { q } : {}) });
  const total = rows.data?.total ?? 0;
  const word = t(`places.add-${level}`);
  return (
    <>
      <ErrorLine error={rows.error} />
      {above.length === 0 && total === 0 && rows.data && <p>{q ? t("search.none") : t("places.none")}</p>}
      <ul className="branch">
        {rows.data?.data.map((row) => (
          <Node key={row.id} path={[...above, row.id]} {...{ row, unfolded, toggle, onOpen }} />
        ))}
        {total > LIMIT && <li className="soft">{t("places.more")}</li>}
        {above.length > 0 && (
          <li>
            <button
              type="button"
              className="open soft"
              aria-label={t("places.add-in", { word, name: inName })}
              onClick={() => onOpen([...above, NEW])}
            >
              + {word}
            </button>
          </li>
        )}
      </ul>
    </>
  );
}

function Node({
  path,
  row,
  unfolded,
  toggle,
  onOpen,
}: Omit<BranchProps, "above" | "inName" | "q"> & { path: PlacePath; row: PlaceRow }) {
  const { t } = useTranslation();
  const level = placeLevelOf(path) as PlaceLevel;
  const isOpen = unfolded.has(placePathText(path));
  const isLeaving = usePendingRemovalIds().has(row.id);
  const { name } = row;
  return (
    <li className={isLeaving ? "leaving" : ""}>
      <span className="place-line">
        {level === "zone" ? (
          <span className="fold" />
        ) : (
          <button
            type="button"
            className="fold"
            aria-expanded={isOpen}
            aria-label={t(isOpen ? "places.shut" : "places.open", { name })}
            onClick={() => toggle(path)}
          >
            <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
          </button>
        )}
        <button type="button" className="open" onClick={() => onOpen(path)}>
          {name}
        </button>
        {level !== "zone" && <small className="soft">{t(`place-count.${level}`, { count: childCount(row) })}</small>}
      </span>
      {isOpen && <Branch above={path} inName={name} {...{ unfolded, toggle, onOpen }} />}
    </li>
  );
}
