import { HttpServer, type HttpOptions } from "./http.js";

export * from "./shared.js";

/** A server of linnet, over HTTP. Nothing is sent yet. */
export function connect(options: HttpOptions): HttpServer {
  return new HttpServer(options);
}
