// Search of the web site when it is opened from the disk: browsers refuse workers there, so that the worker's script
// runs in a hidden frame instead. Of a worker it has what the search uses: messages both ways, and their listeners.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inner = frame.contentWindow;
      this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.inner.document.createElement("script");
      script.src = url;
      this.ready = new Promise((resolve) => (script.onload = resolve));
      this.inner.document.body.appendChild(script);
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
