import { invalidValue, requiredValue } from "../base/errors.ts";
import { requireBelonging } from "../places/belonging.ts";
import { LEVELS, type Level, type Place } from "../places/levels.ts";
import { namePlace } from "../places/place-names.ts";
import type scenarios from "../resources/scenarios/scenarios.ts";
import { referencesOf, requireReferences } from "../store/part-references.ts";
import type { Behaviour } from "../store/store.ts";
import { questionsOf, readQuestions, requireLocationVariable, type ScenarioRow, siteQuestionOf } from "./questions.ts";
import { MESSAGE_REFERENCES, presentMessages, readMessages } from "./scenario-messages.ts";

const PIN = /^\d{4,12}$/;

/**
 * A scenario's questions and messages are whole and refer to what is there, and its default location lies in one place.
 * `reportsSite`: scenarios with a location report a question about the site. @source decisions.md 7; service-api.md, Versioning 4
 */
export function scenarioBehaviour(reportsSite: boolean): Behaviour<typeof scenarios> {
  return {
    async prepare({ confirmationPin }) {
      // It is sealed before the row is checked.
      if (typeof confirmationPin === "string" && confirmationPin !== "" && !PIN.test(confirmationPin)) {
        throw invalidValue("confirmationPin", "4 to 12 digits.");
      }
    },
    beforeWrite({ op, before, after, given }, tx, by) {
      if (!after) return;
      if (op === "create" || given.has("fields")) after.fields = readQuestions(after.fields ?? [], reportsSite);
      if (op === "create" || given.has("messages")) {
        const messages = readMessages(after.messages);
        requireReferences(messages, MESSAGE_REFERENCES, { field: "messages", before, reader: tx, by });
        Object.assign(after, { messages, ...referencesOf(messages, MESSAGE_REFERENCES) });
      }
      // It does not come with the row of a cloud; `pins.ts` lets nobody start it without.
      const lacksPin = after.confirmationType === "pin" && after.confirmationPin === null;
      if (lacksPin && !by.replicated) throw requiredValue("confirmationPin");
      requireLocationVariable(after);
      setDefaultPlace(after, requireBelonging(defaultPlaceOf(after), tx, defaultField));
    },
    present(rows, { reader }) {
      const messages = presentMessages(rows, reader);
      return rows.map((row, at) => ({
        fields: row.locationEnabled && reportsSite ? [...questionsOf(row), siteQuestionOf(row)] : questionsOf(row),
        messages: messages[at],
        defaultLocation: row.defaultSiteId === null ? null : namePlace(defaultPlaceOf(row), reader),
      }));
    },
  };
}

function defaultField(level: Level): `default${Capitalize<Level>}Id` {
  return `default${(level[0] as string).toUpperCase()}${level.slice(1)}Id` as `default${Capitalize<Level>}Id`;
}

/** The place that a scenario takes when none is told. */
export function defaultPlaceOf(row: ScenarioRow): Place {
  const { defaultSiteId, defaultBuildingId, defaultFloorId, defaultZoneId } = row;
  return { siteId: defaultSiteId, buildingId: defaultBuildingId, floorId: defaultFloorId, zoneId: defaultZoneId };
}

function setDefaultPlace(row: ScenarioRow, place: Place): void {
  for (const level of LEVELS) row[defaultField(level)] = place[`${level}Id`];
}
