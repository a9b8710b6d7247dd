{{- define "tidemark.labels" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "tidemark.selector" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- /* A pod: `name` of the process, its `command`, and its values as `own`; `root` is the chart. */}}
{{- define "tidemark.pod" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
automountServiceAccountToken: false
terminationGracePeriodSeconds: 30
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
containers:
  - name: {{ .name }}
    image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    command: {{ .command | toJson }}
    envFrom:
      - configMapRef: { name: {{ .root.Release.Name }}-settings }
      - secretRef: { name: {{ .root.Values.existingSecret }} }
    {{- with .root.Values.oidc.clientSecret }}
    {{- if .name }}
    env:
      - name: OIDC_CLIENT_SECRET
        valueFrom: { secretKeyRef: { name: {{ .name }}, key: {{ .key }} } }
    {{- end }}
    {{- end }}
    {{- with .ports }}
    ports: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .probes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .own.resources }}
    resources: {{- toYaml . | nindent 6 }}
    {{- end }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: { drop: [ALL] }
    volumeMounts:
      - { name: run, mountPath: /var/lib/tidemark }
      - { name: tmp, mountPath: /tmp }
volumes:
  - { name: run, emptyDir: {} }
  - { name: tmp, emptyDir: {} }
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* A process. One that may run only once is stopped before its next version starts. */}}
{{- define "tidemark.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .root.Release.Name }}-{{ .name }}
  labels: {{- include "tidemark.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
spec:
  replicas: {{ .own.replicas | default 1 }}
  strategy: { type: {{ if .once }}Recreate{{ else }}RollingUpdate{{ end }} }
  selector:
    matchLabels: {{- include "tidemark.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "tidemark.selector" . | nindent 8 }}
      annotations:
        checksum/settings: {{ .root.Values.settings | toJson | sha256sum }}
    spec: {{- include "tidemark.pod" . | nindent 6 }}
{{- end }}
