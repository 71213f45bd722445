// Calls of the server. A call that a newer one has overtaken is given up.

const running = new Map();
let token = given() ?? sessionStorage.getItem("token") ?? "";

/** The token of an address that ends in #token=…, which does not stay in the address bar nor in the history. */
function given() {
  const found = location.hash.match(/^#token=([\w-]+)$/);
  if (!found) return null;
  history.replaceState(null, "", location.pathname);
  sessionStorage.setItem("token", found[1]);
  return found[1];
}

export class ApiError extends Error {
  constructor(code, message) { super(message); this.code = code; }
}

async function sent(path, body, signal, more) {
  const headers = { "Content-Type": "application/json", ...more };
  if (token) headers.Authorization = `Bearer ${token}`;
  const options = body === undefined ? { headers, signal } : { method: "POST", headers, signal, body: JSON.stringify(body) };
  const answer = await fetch(path, options).catch((error) => {
    if (error.name === "AbortError") throw error;
    document.dispatchEvent(new CustomEvent("lost"));
    throw new ApiError("unreachable", "The server does not answer. It was stopped, or the connection is lost. It is asked again.");
  });
  const content = await answer.json();
  if (answer.status === 401 && asked()) return sent(path, body, signal, more);
  if (!answer.ok) throw new ApiError(content.error.code, content.error.message);
  return content;
}

function asked() {
  const given = window.prompt("This server needs its token:");
  if (!given) return false;
  token = given.trim();
  sessionStorage.setItem("token", token);
  return true;
}

/** The answer to a request; null where a newer request with the same purpose has come meanwhile. `more`: headers. */
export async function call(path, body, purpose = path, more = {}) {
  running.get(purpose)?.abort();
  const control = new AbortController();
  running.set(purpose, control);
  try {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await sent(path, body, control.signal, more);
      } catch (error) {
        if (error.code !== "busy" || attempt > 4) throw error;
        await new Promise((done) => { setTimeout(done, 300); });
      }
    }
  } catch (error) {
    if (error.name === "AbortError") return null;
    throw error;
  } finally {
    if (running.get(purpose) === control) running.delete(purpose);
  }
}
