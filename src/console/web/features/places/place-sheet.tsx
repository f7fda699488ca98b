import type { MessageKey } from "../../i18n/message-keys.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import type { FieldOverrides } from "../../ui/form/form-fields.ts";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import type { SheetTab } from "../../ui/sheet-tabs.tsx";
import { FloorOrder } from "./floor-order.tsx";
import { FloorPlan } from "./floor-plan.tsx";
import { PLACE_ROUTES, type PlaceLevel, type PlacePath, placeLevelOf, placeRouteParams } from "./place-levels.ts";
import { RemovalHint } from "./removal-hint.tsx";
import { SiteRoleHolders } from "./site-role-holders.tsx";

const POSITION = ["latitude", "longitude"];
const ADDRESS = ["addressLine1", "addressLine2", "city", "state", "postalCode", "country"];
const FIELDS: Readonly<Record<PlaceLevel, readonly string[]>> = {
  site: ["name", "externalId", ...POSITION],
  building: [
    ...["name", "externalId", ...ADDRESS, ...POSITION],
    ...["primaryPhone", "preferredPsapNumber", "respondingPsap", "emergency"],
  ],
  floor: ["name", "externalId", "type"],
  zone: ["name", "externalId", "type"],
};
const HINTS: Readonly<Record<string, MessageKey>> = {
  externalId: "places.external-hint",
  type: "places.type-hint",
};

/** One place: fields, and for a floor its plan. */
export function PlaceSheet({ path, onClose }: { path: PlacePath; onClose: () => void }) {
  const { t } = useTranslation();
  const level = placeLevelOf(path) as PlaceLevel;
  const id = path.at(-1) ?? NEW;
  const within = placeRouteParams(path.slice(0, -1));
  const fields: FieldOverrides[] = FIELDS[level].map((name) => {
    if (name === "emergency") return { name, kind: "mark", mark: { label: t("places.emergency-hint"), path: [] } };
    const hint = HINTS[name];
    return { name, ...(hint ? { hint: t(hint) } : {}) };
  });
  return (
    <RowSheet
      id={id}
      item={PLACE_ROUTES[level].item}
      within={within}
      newTitle={t(`places.add-${level}`)}
      wide={level === "floor" && id !== NEW}
      onClose={onClose}
      fields={fields}
      tabs={tabsOf(level, path, t)}
    >
      <RemovalHint path={path} />
    </RowSheet>
  );
}

function tabsOf(level: PlaceLevel, path: PlacePath, t: (key: MessageKey) => string): SheetTab[] {
  const [siteId = "", buildingId = "", floorId = ""] = path;
  if (level === "site")
    return [{ id: "roles", label: t("places.roles"), content: <SiteRoleHolders siteId={siteId} /> }];
  if (level === "building") {
    return [{ id: "floors", label: t("places.floors"), content: <FloorOrder {...{ siteId, buildingId }} /> }];
  }
  if (level === "floor") {
    return [{ id: "plan", label: t("plan.title"), content: <FloorPlan {...{ siteId, buildingId, floorId }} /> }];
  }
  return [];
}
