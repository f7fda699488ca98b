import type { OpenApiDocument } from "../../http/openapi/document.ts";
import { type ApiOperation, apiOperations } from "./api-operations.ts";

const HEAD = `# Client of the Carillon API, generated from its OpenAPI description. PowerShell 7 or later.
#
#   Import-Module ./Carillon.psm1
#   Connect-Carillon -Url https://carillon.example.org -Token $token
#   Invoke-CarillonListUsers -Query @{ type = 'regular'; limit = 10 }
#   Invoke-CarillonCreateNotifications -Body @{ subject = 'Fire drill'; userIds = @($id) }
#
# Functions are named after the operations of the description. A refused request throws; the error's details hold the
# JSON of the answer with \`type\`, \`message\` and \`errors\`.

$script:Carillon = @{ Base = $null; Token = $null }

function Connect-Carillon {
    [CmdletBinding()]
    param([Parameter(Mandatory)][string]$Url, [string]$Token)
    $base = $Url.TrimEnd('/')
    if (-not $base.EndsWith('/api')) { $base += '/api' }
    $script:Carillon = @{ Base = $base; Token = $Token }
}

function Invoke-CarillonRequest {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)][string]$Method,
        [Parameter(Mandatory)][string]$Path,
        $Body,
        [hashtable]$Query,
        [string]$ContentType = 'application/octet-stream'
    )
    if (-not $script:Carillon.Base) { throw 'Call Connect-Carillon first.' }
    $pairs = foreach ($name in $Query.Keys) {
        $value = $Query[$name]
        if ($null -eq $value) { continue }
        $key = if ($value -is [array]) { "$name[]" } else { $name }
        foreach ($each in @($value)) {
            $text = if ($each -is [bool]) { $each.ToString().ToLowerInvariant() } else { [string]$each }
            [uri]::EscapeDataString($key) + '=' + [uri]::EscapeDataString($text)
        }
    }
    $address = $script:Carillon.Base + $Path
    if ($pairs) { $address += '?' + ($pairs -join '&') }
    # Redirects are not followed: the token must not go to another address.
    $request = @{ Method = $Method; Uri = $address; MaximumRedirection = 0; Headers = @{ Accept = 'application/json' } }
    if ($script:Carillon.Token) { $request.Headers.Authorization = "Bearer $($script:Carillon.Token)" }
    if ($Body -is [byte[]]) {
        $request.Body = $Body
        $request.ContentType = $ContentType
    }
    elseif ($null -ne $Body) {
        $request.Body = [Text.Encoding]::UTF8.GetBytes((ConvertTo-Json -InputObject $Body -Depth 32 -Compress))
        $request.ContentType = 'application/json'
    }
    Invoke-RestMethod @request
}
`;

/** A PowerShell module with one function per operation. */
export function writePowerShellClient(document: OpenApiDocument): string {
  const operations = apiOperations(document);
  return `${HEAD}${operations.map(functionOf).join("")}\nExport-ModuleMember -Function *-Carillon*\n`;
}

function functionOf({ id, method, path, pathNames, summary }: ApiOperation): string {
  const name = `Invoke-Carillon${id.charAt(0).toUpperCase()}${id.slice(1)}`;
  const ids = pathNames.map((each) => `[Parameter(Mandatory)][string]$${capital(each)}`);
  const body = method === "get" ? [] : ["$Body"];
  const parameters = [...ids, ...body, "[hashtable]$Query = @{}"];
  const filled = pathNames.reduce(
    (text, each) => text.replace(`{${each}}`, `$([uri]::EscapeDataString($${capital(each)}))`),
    path,
  );
  return `
# ${summary.replace(/\s+/g, " ")}
function ${name} {
    [CmdletBinding()]
    param(${parameters.join(", ")})
    Invoke-CarillonRequest -Method ${method.toUpperCase()} -Path "${filled}"${method === "get" ? "" : " -Body $Body"} -Query $Query
}
`;
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
