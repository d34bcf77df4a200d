import { HttpServer, type HttpOptions } from "./http.js";
import { SocketServer, usualSocket } from "./socket.js";

export * from "./shared.js";
export { spawn, type SpawnOptions } from "./process.js";
export { SocketServer, type SocketAttach, type SocketOpen } from "./socket.js";

/** A server of linnet: over HTTP with a `url`, else on its unix socket. Nothing is sent yet. */
export function connect(options: HttpOptions): HttpServer;
export function connect(options?: { socket?: string }): SocketServer;
export function connect(options: HttpOptions | { socket?: string } = {}): HttpServer | SocketServer {
  return "url" in options ? new HttpServer(options) : new SocketServer(options.socket ?? usualSocket());
}
