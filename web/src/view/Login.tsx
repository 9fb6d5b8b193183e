import { type FormEvent, type ReactElement, useEffect, useState } from "react";
import { sendCredentials } from "../net/client.ts";
import { studio, useStudio } from "../state/store.ts";
import { useStrings } from "./strings.ts";

/** Whether the server rejects this browser (401), tested when there is no connection. */
export function useLoginRequired(): boolean {
  const connection = useStudio((state) => state.connection);
  const [locked, setLocked] = useState(false);
  useEffect(() => {
    if (connection === "open") setLocked(false);
    else if (connection === "lost")
      void fetch("./api/").then(
        (answer) => setLocked(answer.status === 401),
        () => {},
      );
  }, [connection]);
  return locked;
}

/** The page that is shown instead of the studio until the browser is authorized. */
export function LoginPage(): ReactElement {
  const t = useStrings();
  return (
    <main className="workplace">
      <div className="gallery">
        <div className="gallery-inner">
          <h1>{t.loginTitle}</h1>
          <p className="lead">{t.loginAbout}</p>
          <PasswordForm />
        </div>
      </div>
    </main>
  );
}

/** The banner of a tab whose session has expired because the server was restarted. */
export function SessionExpired(): ReactElement {
  const t = useStrings();
  const [asking, setAsking] = useState(false);
  return (
    <div className="banner" role="alert">
      <span>{t.sessionExpired}</span>
      {asking ? (
        <PasswordForm />
      ) : (
        <button type="button" className="button" onClick={() => setAsking(true)}>
          {t.typePassword}
        </button>
      )}
    </div>
  );
}

function PasswordForm(): ReactElement {
  const t = useStrings();
  const [password, setPassword] = useState("");
  const [wrong, setWrong] = useState(false);
  async function enter(event: FormEvent) {
    event.preventDefault();
    const entered = await sendCredentials({ password });
    setWrong(!entered);
    if (entered) studio.retry();
  }
  return (
    <form onSubmit={(event) => void enter(event)}>
      <label htmlFor="password">{t.password}</label>
      <div className="gallery-actions">
        <input
          id="password"
          className="field password"
          type="password"
          autoComplete="current-password"
          aria-invalid={wrong}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <button type="submit" className="button main">
          {t.enter}
        </button>
      </div>
      {wrong && (
        <p className="bad" role="alert">
          {t.wrongPassword}
        </p>
      )}
    </form>
  );
}
