import { signLink, verifyLink } from "../../auth/signed-links.ts";
import { notFound, requiredValue } from "../../lib/errors.ts";
import confirmationRequests from "../../resources/confirmations/confirmation-requests.ts";
import notificationRecipients from "../../resources/notifications/notification-recipients.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { Store } from "../../store/store.ts";
import type { NotificationService } from "../notification-service.ts";

/** A question as the holder of its link may see it. */
export interface LinkedQuestion {
  subject: string;
  body: string;
  drill: boolean;
  /** Answers to choose from, in order. */
  options: readonly string[];
  /** The recipient's last answer. */
  given: string | null;
  /** The reply that the recipient got. */
  reply: string | null;
}

/** Public pages on which recipients answer without an account, by an unguessable signed link. */
export interface AnswerLinks {
  /** Null for an invalid link, or one whose message or question was deleted. */
  find(token: string): LinkedQuestion | null;
  /** Records the answer. Throws as `NotificationService.recordAnswer`; not-found where `find` returns null. */
  answer(token: string, option: string): Promise<void>;
}

/** URL of the answer page; `recipientId` is the id of the recipient row. */
export function answerLink(recipientId: string, baseUrl: string, store: Pick<Store, "secrets">): string {
  return `${baseUrl}/answer/${signLink("answer", recipientId, store)}`;
}

/** Creates the handler of answer links. A link is valid as long as answers to its message are accepted. */
export function createAnswerLinks({
  store,
  notificationService,
}: {
  store: Store;
  notificationService: Pick<NotificationService, "recordChannelAnswer">;
}): AnswerLinks {
  const recipientOf = (token: string) => {
    const id = verifyLink("answer", token, store);
    return id === null ? null : store.get(notificationRecipients, id);
  };
  return {
    find(token) {
      const recipient = recipientOf(token);
      const message = recipient && store.get(notifications, recipient.notificationId);
      const request =
        message?.confirmationRequestId == null ? null : store.get(confirmationRequests, message.confirmationRequestId);
      if (!recipient || !message || !request) return null;
      const { subject, body, drill } = message;
      const given = recipient.confirmationResponse;
      const reply = recipient.dynamicReply;
      return { subject: subject ?? "", body: body ?? "", drill, options: request.options, given, reply };
    },
    async answer(token, option) {
      const recipient = recipientOf(token);
      if (!recipient) throw notFound();
      if (option === "") throw requiredValue("option");
      await notificationService.recordChannelAnswer("link", recipient.id, option);
    },
  };
}
