"""Control of what is traced in this process: instances and latency tracers."""
