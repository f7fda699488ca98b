/** An authentication URL that says yes to every phone, apart from whoever pushes. Prints its port. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((_request, response) => {
  response.setHeader("content-type", "text/plain");
  response.end("AUTHORIZED");
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () =>
  console.log((server.address() as AddressInfo).port),
);
