// Who somebody is: a token in the address, which is taken out of it at once, or one that is typed in.

import { html, useState } from "./dom.js";
import { signIn } from "./api.js";

/** Exchange the token of the address, if there is one, for a cookie. What else the address says stays in it. */
export async function fromAddress() {
  const told = new URLSearchParams(location.hash.slice(1));
  const token = told.get("token");
  if (!token) return;
  const agent = told.get("agent");
  history.replaceState(null, "", `${location.pathname}${location.search}#/${agent ? `agent/${encodeURIComponent(agent)}` : ""}`);
  await signIn(token);
}

export function SignIn({ done, problem }) {
  const [error, setError] = useState(problem || "");
  const submit = async (event) => {
    event.preventDefault();
    try {
      await signIn(new FormData(event.target).get("token").trim());
      done();
    } catch (refused) {
      setError(refused.status === 401 ? "That token is not known here." : refused.message);
    }
  };
  return html`<main class="sign-in">
    <form onSubmit=${submit}>
      <h1>linnet</h1>
      <input hidden name="username" autocomplete="username" value="linnet" />
      <label>Token <input name="token" type="password" required autofocus autocomplete="current-password" /></label>
      ${error && html`<p class="fault" role="alert">${error}</p>`}
      <p class="remark">The server prints an address with a token in it when it starts. The files <code>drive.token</code> and <code>watch.token</code> have it too.</p>
      <div class="answers"><button type="submit" class="yes">Open</button></div>
    </form>
  </main>`;
}
