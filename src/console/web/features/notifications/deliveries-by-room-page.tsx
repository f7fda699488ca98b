import { Link, useParams } from "@tanstack/react-router";
import { levelSummary } from "../../api/notification-state.ts";
import type { FloorRow } from "../../api/place-rows.ts";
import type { DeliveriesByRoom, NotificationRow, PlacedDevice } from "../../api/rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ReachBar } from "../../ui/reach-bar.tsx";
import { roomName } from "../../ui/room-name.ts";
import { Chip, DrillChip, LevelChip } from "../../ui/status-chip.tsx";
import { UnavailablePage } from "../../ui/unavailable-page.tsx";
import { useImage } from "../../ui/use-image.ts";
import { outlineOf, parseGeoreference } from "../places/georeference.ts";
import { PlanImage } from "../places/plan-image.tsx";
import { NotificationActions } from "./notification-actions.tsx";
import "../../ui/lines.css";
import "../places/plan.css";

type PlacedRoom = DeliveriesByRoom["rooms"][number];

const FLOOR = "sites/{siteId}/buildings/{buildingId}/floors/{floorId}";
const STATE_LABELS = {
  good: "deliveries-by-room.reached",
  bad: "deliveries-by-room.missed",
  warn: "deliveries-by-room.passed-over",
  waiting: "deliveries-by-room.waiting",
} as const;

/** What sounds where: the plans of all floors that a message went to, with each room in the state of its devices. */
export default function DeliveriesByRoomPage() {
  const { t } = useTranslation();
  const { notificationId = "" } = useParams({ strict: false });
  const message = useRow<NotificationRow>("notifications/{notificationId}", { notificationId });
  const found = useRow<DeliveriesByRoom>("notifications/{notificationId}/rooms", { notificationId });
  const row = message.data;
  if (!row || !found.data)
    return <UnavailablePage title={t("deliveries-by-room.title")} error={message.error ?? found.error} />;
  const { rooms, unplaced } = found.data;
  const floors = new Map<string, PlacedRoom[]>();
  for (const each of rooms) floors.set(each.room.floorId, [...(floors.get(each.room.floorId) ?? []), each]);
  return (
    <div className="page">
      <header className={row.drill ? "card drill" : "card"}>
        <div className="head">
          <DrillChip drill={row.drill} />
          <h1>{t("deliveries-by-room.title")}</h1>
          <span className="space" />
          <NotificationActions row={row} />
        </div>
        <Link to="/broadcasts/$notificationId" params={{ notificationId }}>
          {row.subject}
        </Link>
        <ReachBar devices={row.progress.devices} />
        {unplaced > 0 && (
          <p className="soft">
            {t("deliveries-by-room.unplaced", { count: unplaced })} {t("deliveries-by-room.unplaced-hint")}
          </p>
        )}
      </header>
      {[...floors].map(([floorId, those]) => (
        <Floor key={floorId} rooms={those} />
      ))}
    </div>
  );
}

/** The state of a room: missed as soon as one device was, and passed over where all were. */
function stateOfRoom(devices: readonly PlacedDevice[]): keyof typeof STATE_LABELS {
  const { missed, waiting, reached } = levelSummary(levelsOf(devices));
  if (missed > 0) return "bad";
  if (waiting > 0) return "waiting";
  return reached > 0 ? "good" : "warn";
}

function levelsOf(devices: readonly PlacedDevice[]): Record<string, number> {
  const levels: Record<string, number> = {};
  for (const { level } of devices) levels[level] = (levels[level] ?? 0) + 1;
  return levels;
}

function Floor({ rooms }: { rooms: readonly PlacedRoom[] }) {
  const { t } = useTranslation();
  const [first] = rooms;
  const { siteId = "", buildingId = "", floorId = "" } = first?.room ?? {};
  const params = { siteId, buildingId, floorId };
  const asked = useRow<FloorRow>(FLOOR, params, { includeZoneBoundaries: true });
  const floor = asked.data?.id === floorId ? asked.data : undefined;
  const picture = useImage(`${FLOOR}/floorPlanImage`, params, floor?.floorPlanImage ? floor.updatedAt : null);
  const ground = parseGeoreference(floor?.imageOrigins);
  const states = new Map(rooms.map(({ room, devices }) => [room.zoneId, stateOfRoom(devices)]));
  const outlines = (floor?.zones ?? []).flatMap(({ id, name, boundary }) => {
    const outline = outlineOf(boundary, ground);
    const tone = states.get(id);
    return outline && tone ? [{ id, name, outline, tone }] : [];
  });
  if (!first) return null;
  return (
    <section className="card" aria-label={first.room.floorName}>
      <h2>{roomName(first.room)}</h2>
      <ErrorLine error={asked.error ?? picture.error} />
      {picture.url ? (
        <PlanImage
          url={picture.url}
          name={first.room.floorName}
          outlines={outlines}
          marks={[]}
          onRatio={() => {}}
          onMove={() => {}}
        />
      ) : (
        floor && !floor.floorPlanImage && <p className="soft">{t("deliveries-by-room.no-plan")}</p>
      )}
      <ul className="plain lined">
        {rooms.map((each) => (
          <RoomLine key={each.room.zoneId} {...each} />
        ))}
      </ul>
    </section>
  );
}

function RoomLine({ room, devices }: PlacedRoom) {
  const { t } = useTranslation();
  const state = stateOfRoom(devices);
  return (
    <li className="stack tight">
      <div className="row">
        <strong className="grow">{room.name}</strong>
        <Chip tone={state === "waiting" ? "" : state}>{t(STATE_LABELS[state])}</Chip>
      </div>
      {devices.map(({ deviceId, name, level, reason }) => (
        <div key={deviceId} className="row">
          <span className="grow">{name}</span>
          {reason && <span className="soft">{reason}</span>}
          <LevelChip level={level} />
        </div>
      ))}
    </li>
  );
}
