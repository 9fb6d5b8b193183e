import { type FormEvent, type ReactElement, useEffect, useState } from "react";
import { present } from "../net/client.ts";
import { studio, useStudio } from "../state/store.ts";
import { useWords } from "./words.ts";

/** Whether the server does not let this browser in: found out when it never said hello. */
export function useLocked(): boolean {
  const welcome = useStudio((state) => state.welcome);
  const connection = useStudio((state) => state.connection);
  const [locked, setLocked] = useState(false);
  useEffect(() => {
    if (welcome !== null) setLocked(false);
    else if (connection === "lost")
      void fetch("./api/").then(
        (answer) => setLocked(answer.status === 401),
        () => {},
      );
  }, [welcome, connection]);
  return locked;
}

/** Asks for the password of a studio that others can reach. */
export function Locked(): ReactElement {
  const w = useWords();
  const [password, setPassword] = useState("");
  const [wrong, setWrong] = useState(false);
  async function enter(event: FormEvent) {
    event.preventDefault();
    const entered = await present({ password });
    setWrong(!entered);
    if (entered) studio.retry();
  }
  return (
    <main className="workplace">
      <div className="gallery">
        <form className="gallery-inner" onSubmit={(event) => void enter(event)}>
          <h1>{w.lockedTitle}</h1>
          <p className="lead">{w.lockedAbout}</p>
          <label htmlFor="password">{w.password}</label>
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
              {w.enter}
            </button>
          </div>
          {wrong && (
            <p className="bad" role="alert">
              {w.wrongPassword}
            </p>
          )}
        </form>
      </div>
    </main>
  );
}
