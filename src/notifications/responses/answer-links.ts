import { signLink, verifyLink } from "../../auth/signed-links.ts";
import { notFound, requiredValue } from "../../lib/errors.ts";
import confirmationRequests from "../../resources/confirmations/confirmation-requests.ts";
import notificationRecipients from "../../resources/notifications/notification-recipients.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { Store } from "../../store/store.ts";
import type { NotificationService } from "../notification-service.ts";

/** What a recipient is asked, as the holder of the link may see it. */
export interface LinkedQuestion {
  subject: string;
  body: string;
  drill: boolean;
  /** Answers to choose from, in order. */
  options: readonly string[];
  /** The recipient's last answer. */
  given: string | null;
  /** What the recipient was told after it. */
  reply: string | null;
}

/** Pages on which recipients answer a message without an account, by a link that nobody can guess. */
export interface AnswerLinks {
  /** Null for a text that is none of ours, or whose message or question is gone. */
  find(token: string): LinkedQuestion | null;
  /** Takes the answer. Throws as `Broadcaster.confirm`; not-found as `find` gives null. */
  answer(token: string, option: string): Promise<void>;
}

/** The page on which a recipient answers; `recipientId` is the id of the recipient's row. */
export function answerLink(recipientId: string, baseUrl: string, store: Pick<Store, "secrets">): string {
  return `${baseUrl}/answer/${signLink("answer", recipientId, store)}`;
}

/** Makes the links' other side. own choice: a link is good as long as answers to its message are taken. */
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
