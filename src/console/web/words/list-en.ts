/** Words of lists and of the states of devices. */
export const listEn = {
  "search.clear": "Empty the search",
  "table.most": "The first {n} are shown. Type more letters to narrow it down.",
  "table.sort": "Order",
  "table.sort-by": "Sort by {field}",
  "table.all": "Show all",
  "table.again": "Try again",
  "table.forbidden": "You may not see this list.",
  "table.forbidden-words": "Somebody with more rights can give you the permission to read it.",
  "devices.first": "There is no device yet. Add one, and it can be tried at once.",
  "devices.total": "{n} device|{n} devices",
  "devices.last-proof": "Last proof",
  "devices.last-answer": "Last answer",
  "devices.failures": "Without answer since",
  "devices.failures-n": "{n} message|{n} messages",
  "devices.never": "never",
  "device-state-words.answering": "It answered the last message that was sent to it.",
  "device-state-words.sent":
    "Our packets left for it. A zone has no way to answer, so nobody can prove what it played.",
  "device-state-words.silent": "It did not answer. Check its power, its network, and whether it knows this appliance.",
  "device-state-words.untried": "Nothing was sent to it yet, so nothing is known. Send a test.",
} as const;
