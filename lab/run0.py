import sys; sys.path.insert(0, "/tmp/g/lab")
import lab
lab.known_values = lambda n: {(a, b): 0.0 for a in range(1, n+1) for b in range(1, n+1)}
exec(open("/tmp/g/lab/run.py").read())
